//! How long can it take, at most, until code is through? Code that may take long asks on its way whether it is to stop; the rest has nothing to ask.
//!
//! The unit is a node of the program, computed once: about a nanosecond.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};
use fathom_model::expression::{Expression, ExpressionKind};
use fathom_model::program::{Command, Program, Statement};

use super::emitter::Emitter;

/// What may be done without asking, and a little more: some ten microseconds. Loops of ordinary models, over a handful of processes, are far below.
const UNASKED_MAX: u64 = 1 << 16;

/// Whether so much takes long.
pub(super) fn is_long(work: u64) -> bool {
    work > UNASKED_MAX
}

/// The work of statements.
pub(super) fn of_body(body: &[Statement]) -> u64 {
    sum(body.iter().map(of_statement))
}

/// The work of an expression.
pub(super) fn of_expression(expression: &Expression) -> u64 {
    if let ExpressionKind::Compute(computation) = &expression.kind {
        return of_body(&computation.body).saturating_add(of_expression(&computation.value));
    }
    let mut work = 1u64;
    expression.for_each_operand(&mut |operand| work = work.saturating_add(of_expression(operand)));
    work
}

/// The work of a command: its guard and its body.
pub(super) fn of_command(command: &Command) -> u64 {
    sum(command.guard.iter().map(of_expression)).saturating_add(of_body(&command.body))
}

/// The work of all actions of a program, once each.
pub(super) fn of_actions(program: &Program) -> u64 {
    sum(program.actions.iter().map(|action| of_command(&action.command)))
}

/// The work of all labels of a program.
pub(super) fn of_labels(program: &Program) -> u64 {
    sum(program.labels.iter().map(|label| of_expression(&label.expression)))
}

fn of_statement(statement: &Statement) -> u64 {
    let mut own = 1u64;
    statement.for_each_expression(&mut |expression| own = own.saturating_add(of_expression(expression)));
    match statement {
        Statement::If { arms, otherwise } => {
            let arms = sum(arms.iter().map(|(_, body)| of_body(body)));
            own.saturating_add(arms).saturating_add(of_body(otherwise))
        }
        Statement::While { body, bound, .. } => {
            own.saturating_add(of_body(body)).saturating_mul(u64::from(*bound))
        }
        Statement::For { from, to, step, body, .. } => {
            own.saturating_add(of_body(body)).saturating_mul(rounds(*from, *to, *step))
        }
        Statement::Block { body, .. } => own.saturating_add(of_body(body)),
        Statement::Copy { count, .. } | Statement::Fill { count, .. } => {
            own.saturating_add(u64::from(*count))
        }
        _ => own,
    }
}

fn rounds(from: i64, to: i64, step: i64) -> u64 {
    let distance = (i128::from(to) - i128::from(from)) * i128::from(step.signum());
    u64::try_from(distance / i128::from(step).abs().max(1) + 1).unwrap_or(u64::MAX)
}

fn sum(work: impl Iterator<Item = u64>) -> u64 {
    work.fold(0, u64::saturating_add)
}

impl Emitter<'_, '_> {
    /// Asks whether to stop, if what is done from one such question to the next takes long: then the source is left as it is.
    pub(super) fn ask(&mut self, work: u64) {
        if !is_long(work) {
            return;
        }
        let away = self.away.expect("set where code begins");
        let flag = self.integer(self.tables.stop);
        // An atomic load is made as often as it is written down, and no store is kept back behind it.
        let up = self.builder.ins().atomic_load(types::I8, MemFlagsData::trusted(), flag);
        let go_on = self.builder.create_block();
        self.builder.ins().brif(up, away, &[], go_on, &[]);
        self.enter(go_on);
    }
}

#[cfg(test)]
mod tests {
    use super::rounds;

    #[test]
    fn rounds_of_counting_loops() {
        assert_eq!([rounds(0, 9, 1), rounds(9, 0, -1), rounds(0, 9, 4), rounds(1, 0, 1)], [10, 10, 3, 0]);
        assert_eq!(rounds(i64::MIN, i64::MAX, 1), u64::MAX);
    }
}
