//! Measures compile and run of script files in this process, in CPU time.
//!
//! One JSON line a file, in order (`ramet rhai --bench` writes the same):
//!
//!     {"file":"speed/fib.rhai","rounds":5,"compile_ms":0.031,"run_ms":312.5,"result":"832040"}
//!
//! `compile_ms` and `run_ms` are each the least of the rounds, CPU time of the whole process, on an engine made once.
//! `result` is the value's display text, cut after 200 characters, so that both sides can be seen to do the same work;
//! a failure has `error` (the message) in place of the two times and `result`.

use rhai::{Dynamic, Engine};
use serde_json::{json, Value};

use crate::{answer, Settings};

pub fn run(files: &[String], settings: &Settings) {
    for file in files {
        let mut line = json!({"file": file, "rounds": settings.rounds});
        match measure(file, settings) {
            Ok((compile, run, result)) => {
                line["compile_ms"] = compile.into();
                line["run_ms"] = run.into();
                line["result"] = result.into();
            }
            Err(text) => line["error"] = Value::String(text),
        }
        println!("{line}");
    }
}

fn measure(file: &str, settings: &Settings) -> Result<(f64, f64, String), String> {
    let src = std::fs::read_to_string(file).map_err(|err| format!("{file}: {err}"))?;
    let mut engine = Engine::new();
    engine.on_print(|_| {});
    engine.on_debug(|_, _, _| {});
    if let Some(level) = settings.optimize {
        engine.set_optimization_level(level);
    }
    let (mut compile, mut run) = (f64::MAX, f64::MAX);
    let mut result = String::new();
    for _ in 0..settings.rounds.max(1) {
        let start = cpu_ms();
        let ast = engine.compile(&src).map_err(|err| err.to_string())?;
        compile = compile.min(cpu_ms() - start);

        let start = cpu_ms();
        let value: Dynamic = engine.eval_ast(&ast).map_err(|err| err.to_string())?;
        run = run.min(cpu_ms() - start);
        result = answer::normal(&value.to_string()).chars().take(200).collect();
    }
    Ok((compile, run, result))
}

fn cpu_ms() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes to the struct it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}
