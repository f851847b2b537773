//! How results and errors are written: exactly as in the recorded cases.

use rhai::{Dynamic, Engine, EvalAltResult, ParseErrorType, Position, Scope};
use serde_json::{json, Value};

/// The answer for a case whose thread died or did not end.
pub fn system(id: Value, text: &str) -> Value {
    json!({"id": id, "error": "ErrorSystem", "message": text})
}

/// `{type, value}`: the name as scripts see it and the host's debug text of the flattened value.
pub fn value(engine: &Engine, v: Dynamic) -> Value {
    let v = v.flatten();
    json!({"type": engine.map_type_name(v.type_name()), "value": normal(&format!("{v:?}"))})
}

/// The variables left in the scope; the last of each name.
pub fn scope(engine: &Engine, scope: &Scope) -> Value {
    let mut all = std::collections::BTreeMap::new();
    for (name, constant, v) in scope.iter() {
        let name = if constant { format!("const {name}") } else { name.to_string() };
        all.insert(name, value(engine, v));
    }
    json!(all)
}

/// Adds error, parse_error, message and pos to an answer.
pub fn error(answer: &mut serde_json::Map<String, Value>, err: &EvalAltResult) {
    let inner = innermost(err);
    answer.insert("error".into(), variant(inner).into());
    if let EvalAltResult::ErrorParsing(kind, _) = inner {
        let name = match kind {
            ParseErrorType::BadInput(lex) => format!("BadInput/{}", variant(lex)),
            _ => variant(kind),
        };
        answer.insert("parse_error".into(), name.into());
    }
    answer.insert("message".into(), normal(&err.to_string()).into());
    if let Some(pos) = position(inner.position()) {
        answer.insert("pos".into(), pos.into());
    }
}

/// `line:col`, None where there is no position.
pub fn position(pos: Position) -> Option<String> {
    // Column 0 stands for the beginning of a line.
    pos.line().map(|line| format!("{line}:{}", pos.position().unwrap_or(0)))
}

fn innermost(err: &EvalAltResult) -> &EvalAltResult {
    match err {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) | EvalAltResult::ErrorInModule(_, inner, _) => {
            innermost(inner)
        }
        _ => err,
    }
}

/// The variant's name is what stands before the fields in its debug text.
fn variant(v: &impl std::fmt::Debug) -> String {
    format!("{v:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_string()
}

/// Takes out what depends on hashes (names of closures) or on how a function pointer was linked.
pub fn normal(text: &str) -> String {
    let text = text.replace("Fn*+(", "Fn(").replace("Fn*(", "Fn(").replace("Fn+(", "Fn(");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("anon$") {
        let (head, tail) = rest.split_at(at + "anon$".len());
        out.push_str(head);
        let digits = tail.chars().take_while(char::is_ascii_hexdigit).count();
        if digits > 0 {
            out.push('*');
        }
        rest = &tail[digits..];
    }
    out + rest
}
