//! Answers Rhai cases with the Rust reference, and measures it.
//!
//!     rhai-reference [--optimize none|simple|full] [--seconds S]   < cases.jsonl > answers.jsonl
//!     rhai-reference --bench [--optimize ...] [--rounds N] FILE...
//!
//! A case is one JSON object a line: `id`, `src` and, where present, `mode`, `opts`, `modules`, `scope`, `const_scope`,
//! `dump_scope`. Answers come one a line, in order. `ramet rhai --jsonl` and `ramet rhai --bench` speak the same.

mod answer;
mod bench;
mod case;

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rhai::OptimizationLevel;
use serde_json::Value;

/// The reference recurses on the machine's stack, in the parser above all.
const STACK: usize = 512 << 20;

pub struct Settings {
    /// Overrides the optimizer level of every case.
    pub optimize: Option<OptimizationLevel>,
    pub seconds: f64,
    pub rounds: u32,
}

fn main() {
    let mut settings = Settings { optimize: None, seconds: 20.0, rounds: 5 };
    let mut bench = false;
    let mut files = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_else(|| usage(&format!("{arg} needs a value")));
        match arg.as_str() {
            "--jsonl" => bench = false, // what it does anyway; said so that both sides take the same words
            "--bench" => bench = true,
            "--optimize" => settings.optimize = Some(optimization(&value())),
            "--seconds" => settings.seconds = value().parse().unwrap_or_else(|_| usage("--seconds: not a number")),
            "--rounds" => settings.rounds = value().parse().unwrap_or_else(|_| usage("--rounds: not a number")),
            _ if arg.starts_with("--") => usage(&format!("unknown flag {arg}")),
            _ => files.push(arg),
        }
    }
    // Panics become answers; their text would only disturb.
    std::panic::set_hook(Box::new(|_| {}));
    if bench {
        on_large_stack(move || bench::run(&files, &settings)).join().expect("bench");
        return;
    }
    answer_all(&settings);
}

fn usage(problem: &str) -> ! {
    eprintln!("rhai-reference: {problem}");
    std::process::exit(2)
}

/// The level of that name.
pub fn optimization(name: &str) -> OptimizationLevel {
    match name {
        "none" => OptimizationLevel::None,
        "simple" => OptimizationLevel::Simple,
        "full" => OptimizationLevel::Full,
        _ => usage(&format!("optimize: {name:?} is none of none, simple, full")),
    }
}

fn on_large_stack<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(STACK).spawn(f).expect("start a thread")
}

fn answer_all(settings: &Settings) {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line.expect("read standard input");
        if line.trim().is_empty() {
            continue;
        }
        let case: Value = match serde_json::from_str(&line) {
            Ok(case) => case,
            Err(err) => usage(&format!("a case is not JSON: {err}")),
        };
        let answer = within_time(case, settings);
        // Flushed at once: the other side waits for it before it sends the next case.
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("write standard output");
    }
}

/// Runs one case in its own thread. What does not end in time is left to itself: a loop inside a native function cannot
/// be stopped from outside.
fn within_time(case: Value, settings: &Settings) -> Value {
    let id = case["id"].clone();
    let optimize = settings.optimize;
    let limit = Duration::from_secs_f64(settings.seconds);
    let (send, receive) = mpsc::channel();
    let worker = on_large_stack(move || {
        let _ = send.send(case::run(&case, optimize, limit));
    });
    match receive.recv_timeout(limit + limit / 2) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => answer::system(id, "out of time"),
        Err(RecvTimeoutError::Disconnected) => {
            let text = match worker.join() {
                Err(cause) => panic_text(cause),
                Ok(()) => "no answer".to_string(),
            };
            answer::system(id, &text)
        }
    }
}

fn panic_text(cause: Box<dyn std::any::Any + Send>) -> String {
    match (cause.downcast_ref::<String>(), cause.downcast_ref::<&str>()) {
        (Some(s), _) => format!("panic: {s}"),
        (_, Some(s)) => format!("panic: {s}"),
        _ => "panic".to_string(),
    }
}
