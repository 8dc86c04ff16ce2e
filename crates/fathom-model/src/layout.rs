//! Which bits of a record hold which variable?
//!
//! Variables lie in declaration order, the first in the most significant bits, each element in the bits that its *possible* values
//! need. Which values are possible is told by a [`Possible`]: the declared domains, or what an analysis found inside them.

use crate::expression::Domain;
use crate::program::{Program, Role, VariableId};
use crate::record::{read_bits, words_for, write_bits};
use crate::shape::{Component, ComponentKind, Shape};

/// Says which values a variable can ever hold.
pub trait Possible {
    /// An interval that holds every value the variable (each element of it) takes in any reachable state, the one for being undefined too
    /// if it ever is; inside [`Variable::stored`](crate::program::Variable::stored).
    fn values(&self, program: &Program, variable: VariableId) -> Domain;
}

/// Every declared value is possible.
#[derive(Clone, Copy, Debug)]
pub struct Declared;

impl Possible for Declared {
    fn values(&self, program: &Program, variable: VariableId) -> Domain {
        program.variable(variable).stored()
    }
}

/// The place of every variable in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// How many bits a record has (at least 1).
    pub width_bits: u32,
    /// One field per variable; those of temporaries take no bits and are not to be read or written.
    pub fields: Vec<Field>,
}

/// The place of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The values its codes stand for: code 0 is `domain.low`.
    pub domain: Domain,
    /// How many bits each element takes (at most 64, 0 if only one value is possible).
    pub element_bits: u32,
    /// How many elements.
    pub elements: u32,
    /// The low end of element 0; element `i` begins `i * element_bits` lower.
    pub low: u32,
}

impl Layout {
    /// Lays the program's variables out.
    pub fn new(program: &Program, possible: &dyn Possible) -> Layout {
        let mut fields: Vec<Field> = (0..program.variables.len() as u32)
            .map(|index| {
                let domain = possible.values(program, VariableId(index));
                let variable = &program.variables[index as usize];
                let element_bits = if variable.role == Role::Temporary { 0 } else { domain.bits() };
                Field { domain, element_bits, elements: variable.elements(), low: 0 }
            })
            .collect();
        let mut below = 0;
        for field in fields.iter_mut().rev() {
            let bits = field.element_bits * field.elements;
            field.low = (below + bits).saturating_sub(field.element_bits);
            below += bits;
        }
        Layout { width_bits: below.max(1), fields }
    }

    /// How many words a record takes.
    pub fn words(&self) -> usize {
        words_for(self.width_bits)
    }

    /// What a search knows of these records.
    pub fn shape(&self, program: &Program) -> Shape {
        let fields = program.variables.iter().zip(&self.fields);
        let fields = fields.filter(|(variable, _)| variable.role != Role::Temporary);
        let components = fields.map(|(variable, field)| Component {
            name: variable.name.clone(),
            kind: match variable.role {
                Role::Location(process) => ComponentKind::Location {
                    process: process.0,
                    names: program
                        .process(process)
                        .locations
                        .iter()
                        .map(|location| location.name.clone())
                        .collect(),
                },
                _ => ComponentKind::Variable,
            },
            domain: field.domain,
            undefined: variable.undefined(),
            element_bits: field.element_bits,
            length: variable.length,
            low: field.low,
        });
        Shape {
            width_bits: self.width_bits,
            components: components.collect(),
            labels: program.labels.iter().map(|label| label.name.clone()).collect(),
            action_count: program.action_count().expect("a verified program numbers its actions in 32 bits"),
            processes: program.agents(),
            mark_count: 0,
            pair_count: 0,
            inner_buffers: 0,
        }
    }
}

impl Field {
    /// The low end of an element.
    #[inline]
    pub fn element_low(&self, index: u32) -> u32 {
        self.low - index * self.element_bits
    }

    /// The value of an element.
    #[inline]
    pub fn read(&self, record: &[u64], index: u32) -> i64 {
        self.domain.low.wrapping_add(read_bits(record, self.element_low(index), self.element_bits) as i64)
    }

    /// Sets an element; the value must be possible.
    #[inline]
    pub fn write(&self, record: &mut [u64], index: u32, value: i64) {
        assert!(self.domain.contains(value), "the layout was told that this value cannot be");
        let code = value.wrapping_sub(self.domain.low) as u64;
        write_bits(record, self.element_low(index), self.element_bits, code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Variable;
    use crate::span::Span;

    fn variable(name: &str, low: i64, high: i64, length: Option<u32>) -> Variable {
        Variable {
            name: name.into(),
            role: Role::Global,
            domain: Domain::new(low, high),
            length,
            optional: false,
            initial: vec![low; length.unwrap_or(1) as usize],
            span: Span::default(),
        }
    }

    #[test]
    fn fields_lie_in_declaration_order_without_gaps() {
        let program = Program {
            variables: vec![
                variable("a", 0, 255, None),
                variable("b", -5, 2, Some(9)),
                variable("only", 3, 3, Some(4)),
                variable("c", i64::MIN, i64::MAX, None),
            ],
            ..Program::default()
        };
        let layout = Layout::new(&program, &Declared);
        assert_eq!(layout.width_bits, 8 + 27 + 64);
        let mut record = vec![0; layout.words()];
        layout.fields[0].write(&mut record, 0, 255);
        assert_eq!(record, [0xff << 27, 0]);
        for index in 0..9 {
            layout.fields[1].write(&mut record, index, i64::from(index) % 8 - 5);
        }
        layout.fields[3].write(&mut record, 0, -1);
        layout.fields[2].write(&mut record, 3, 3);
        for index in 0..9 {
            assert_eq!(layout.fields[1].read(&record, index), i64::from(index) % 8 - 5);
        }
        assert_eq!(layout.fields[0].read(&record, 0), 255);
        assert_eq!(layout.fields[2].read(&record, 3), 3);
        assert_eq!(layout.fields[3].read(&record, 0), -1);
    }

    #[test]
    fn a_program_without_information_still_has_one_bit() {
        let layout = Layout::new(&Program::default(), &Declared);
        assert_eq!((layout.width_bits, layout.words()), (1, 1));
    }
}
