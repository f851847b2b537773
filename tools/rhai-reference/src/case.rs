//! Runs one case on a fresh engine.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rhai::{Dynamic, Engine, EvalAltResult, Module, ModuleResolver, OptimizationLevel, Position, Scope, Shared, AST};
use serde_json::{json, Map, Value};

use crate::answer;

type Result<T> = std::result::Result<T, Box<EvalAltResult>>;

/// Runs a case; `optimize` overrides its own level. A script that runs longer than `limit` is terminated.
pub fn run(case: &Value, optimize: Option<OptimizationLevel>, limit: Duration) -> Value {
    let mut engine = Engine::new();
    let printed = Rc::new(RefCell::new(Vec::new()));
    let debugged = Rc::new(RefCell::new(Vec::new()));
    listen(&mut engine, &printed, &debugged);
    configure(&mut engine, &case["opts"]);
    if let Some(level) = optimize {
        engine.set_optimization_level(level);
    }
    engine.set_module_resolver(Texts::new(&case["modules"]));
    let end = Instant::now() + limit;
    engine.on_progress(move |ops| (ops % 4096 == 0 && Instant::now() > end).then(|| "out of time".into()));

    let mut scope = scope(case);
    let result = evaluate(&engine, &mut scope, case["mode"].as_str().unwrap_or(""), case["src"].as_str().unwrap_or(""));

    let mut out = Map::new();
    out.insert("id".into(), case["id"].clone());
    insert_if_any(&mut out, "print", printed.take());
    insert_if_any(&mut out, "debug", debugged.take());
    match result {
        Ok(v) => {
            out.insert("expect".into(), answer::value(&engine, v));
        }
        Err(err) => answer::error(&mut out, &err),
    }
    if case["dump_scope"].as_bool() == Some(true) {
        out.insert("scope_after".into(), answer::scope(&engine, &scope));
    }
    Value::Object(out)
}

fn insert_if_any(out: &mut Map<String, Value>, name: &str, list: Vec<Value>) {
    if !list.is_empty() {
        out.insert(name.into(), list.into());
    }
}

fn listen(engine: &mut Engine, printed: &Rc<RefCell<Vec<Value>>>, debugged: &Rc<RefCell<Vec<Value>>>) {
    let list = printed.clone();
    engine.on_print(move |text| list.borrow_mut().push(answer::normal(text).into()));
    let list = debugged.clone();
    engine.on_debug(move |text, _, pos| {
        let mut entry = json!({"text": answer::normal(text)});
        if let Some(pos) = answer::position(pos) {
            entry["pos"] = pos.into();
        }
        list.borrow_mut().push(entry);
    });
}

fn evaluate(engine: &Engine, scope: &mut Scope, mode: &str, src: &str) -> Result<Dynamic> {
    let ast: AST = match mode {
        "parse_json" => return engine.parse_json(src, true).map(Dynamic::from),
        "parse_json_nonull" => return engine.parse_json(src, false).map(Dynamic::from),
        "expr" | "compile_expr" => engine.compile_expression_with_scope(scope, src)?,
        _ => engine.compile_with_scope(scope, src)?,
    };
    if mode.starts_with("compile") {
        return Ok(Dynamic::UNIT);
    }
    engine.eval_ast_with_scope(scope, &ast)
}

fn scope(case: &Value) -> Scope<'static> {
    let mut scope = Scope::new();
    for (name, v) in case["scope"].as_object().into_iter().flatten() {
        scope.push_dynamic(name.as_str(), dynamic(v));
    }
    for (name, v) in case["const_scope"].as_object().into_iter().flatten() {
        scope.push_constant_dynamic(name.as_str(), dynamic(v));
    }
    scope
}

fn dynamic(v: &Value) -> Dynamic {
    match v {
        Value::Null => Dynamic::UNIT,
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => n.as_i64().map_or_else(|| n.as_f64().unwrap_or(f64::NAN).into(), Dynamic::from),
        Value::String(s) => s.into(),
        Value::Array(list) => list.iter().map(dynamic).collect::<rhai::Array>().into(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.into(), dynamic(v))).collect::<rhai::Map>().into(),
    }
}

fn configure(engine: &mut Engine, opts: &Value) {
    let Some(opts) = opts.as_object() else { return };
    let number = |name: &str| opts.get(name).and_then(Value::as_u64).map(|n| n as usize);
    let flag = |name: &str| opts.get(name).and_then(Value::as_bool);
    macro_rules! set {
        ($get:ident: $($name:literal $method:ident),* $(,)?) => {
            $(if let Some(v) = $get($name) { engine.$method(v.try_into().unwrap()); })*
        };
    }
    set!(number:
        "max_operations" set_max_operations,
        "max_call_levels" set_max_call_levels,
        "max_variables" set_max_variables,
        "max_functions" set_max_functions,
        "max_modules" set_max_modules,
        "max_string_size" set_max_string_size,
        "max_array_size" set_max_array_size,
        "max_map_size" set_max_map_size,
    );
    set!(flag:
        "strict_variables" set_strict_variables,
        "allow_if_expression" set_allow_if_expression,
        "allow_switch_expression" set_allow_switch_expression,
        "allow_loop_expressions" set_allow_loop_expressions,
        "allow_statement_expression" set_allow_statement_expression,
        "allow_anonymous_fn" set_allow_anonymous_fn,
        "allow_looping" set_allow_looping,
        "allow_shadowing" set_allow_shadowing,
        "fail_on_invalid_map_property" set_fail_on_invalid_map_property,
        "fast_operators" set_fast_operators,
    );
    if number("max_expr_depth").is_some() || number("max_fn_expr_depth").is_some() {
        let (script, function) = (engine.max_expr_depth(), engine.max_function_expr_depth());
        engine.set_max_expr_depths(
            number("max_expr_depth").unwrap_or(script),
            number("max_fn_expr_depth").unwrap_or(function),
        );
    }
    for symbol in opts.get("disable_symbols").and_then(Value::as_array).into_iter().flatten() {
        engine.disable_symbol(symbol.as_str().unwrap_or_default());
    }
    for (name, precedence) in opts.get("custom_operators").and_then(Value::as_object).into_iter().flatten() {
        let precedence = precedence.as_u64().unwrap_or_default() as u8;
        // An operator the engine refuses shows in the case's answer.
        let _ = engine.register_custom_operator(name, precedence);
    }
    if let Some(level) = opts.get("optimize").and_then(Value::as_str) {
        engine.set_optimization_level(crate::optimization(level));
    }
}

/// Serves modules from texts as the file resolver serves files: compiled and run at first use, then kept.
struct Texts {
    texts: HashMap<String, String>,
    loaded: RefCell<HashMap<String, Shared<Module>>>,
}

impl Texts {
    fn new(modules: &Value) -> Self {
        let texts = modules.as_object().into_iter().flatten();
        Self {
            texts: texts.map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_string())).collect(),
            loaded: RefCell::default(),
        }
    }

    fn load(&self, engine: &Engine, name: &str) -> Result<Shared<Module>> {
        let mut ast = engine.compile(&self.texts[name])?;
        ast.set_source(name);
        Ok(Module::eval_ast_as_new(Scope::new(), &ast, engine)?.into())
    }
}

impl ModuleResolver for Texts {
    fn resolve(&self, engine: &Engine, _: Option<&str>, path: &str, pos: Position) -> Result<Shared<Module>> {
        if let Some(module) = self.loaded.borrow().get(path) {
            return Ok(module.clone());
        }
        if !self.texts.contains_key(path) {
            return Err(EvalAltResult::ErrorModuleNotFound(path.to_string(), pos).into());
        }
        let module = self.load(engine, path).map_err(|err| EvalAltResult::ErrorInModule(path.to_string(), err, pos))?;
        self.loaded.borrow_mut().insert(path.to_string(), module.clone());
        Ok(module)
    }
}
