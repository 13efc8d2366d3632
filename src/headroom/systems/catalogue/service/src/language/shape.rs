//! The shape of a query text: all of it but numbers and texts.

use super::lexer::{Lexer, is_in_word, number_length};

/// Return a query text with `?` for each number and each text in quotes. From a quote that is not
/// closed on, nothing is returned.
///
/// ```
/// use headroom_catalogue::language::shape::shape;
///
/// assert_eq!(shape("/jobs2:n >= 1.5e3 and owner = 'ann'"), "/jobs2:n >= ? and owner = ?");
/// ```
pub fn shape(text: &str) -> String {
    let mut found = String::new();
    let Ok(mut lexer) = Lexer::new(text) else {
        return found;
    };
    while let Some(next) = lexer.rest().chars().next() {
        match next {
            '"' | '\'' => match lexer.quoted() {
                Ok(_) => found.push('?'),
                Err(_) => return found,
            },
            '0'..='9' => {
                lexer.take(number_length(lexer.rest().as_bytes()));
                found.push('?');
            }
            c if is_in_word(c) => found.push_str(lexer.take_while(is_in_word)),
            c => found.push_str(lexer.take(c.len_utf8())),
        }
    }
    found
}
