//! How do the bytes of a file become a source text?

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{SOURCE_BYTES_MAX, SourceText};

impl SourceText {
    /// The text of a file; a diagnostic if it is too long or is not UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<SourceText, Diagnostics> {
        let name = name.into();
        if bytes.len() > SOURCE_BYTES_MAX {
            let message = format!(
                "`{name}` is too long: {} bytes, and at most {SOURCE_BYTES_MAX} are read",
                bytes.len()
            );
            return Err(Diagnostic::error(message).into());
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(SourceText::new(name, text)),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let bytes = error.as_bytes();
                let line = 1 + bytes[..valid].iter().filter(|&&byte| byte == b'\n').count();
                let message =
                    format!("`{name}` is not UTF-8 text: byte 0x{:02x} on line {line}", bytes[valid]);
                Err(Diagnostic::error(message).help("save the file as UTF-8 or plain ASCII").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_text_are_a_diagnostic() {
        let error = SourceText::from_bytes("m.dve", b"byte\n x\xff;".to_vec()).unwrap_err();
        let message = &error.items()[0].message;
        assert_eq!(message, "`m.dve` is not UTF-8 text: byte 0xff on line 2");
        assert!(SourceText::from_bytes("m.dve", b"byte x;".to_vec()).is_ok());
    }
}
