// Rhaicompare holds our Rhai engine against the Rust reference: answers, errors and speed.
//
//	go run ./tools/rhaicompare [-fuzz 60s] [-seed N] [-ours "COMMAND"] [-strict]
//
// Both sides are commands that speak the same two dialects:
//
//	COMMAND --jsonl           cases from standard input, one JSON object a line; one answer a line, in order
//	COMMAND --bench FILE...   CPU time of compile and of run, one JSON object a file (see [measurement])
//
// Three parts, each of which a flag turns off:
//
//	replay   all recorded cases through both; each is held against the recorded answer (replay.go)
//	fuzz     random programs, whole and broken, through both; what differs is made small and printed as a
//	         case ready for the cases file (fuzz.go, generate*.go, mutate.go, minimise.go)
//	speed    the scripts of speed/ on both, in turns, as a table with the targets (speed.go)
//
// Answers are compared at three levels: what came out (value or error kind, printed lines), where (parse error kind and
// position), and in which words (message). A difference is counted at the first level at which it shows. What differs on
// purpose stands in known.go with its reason.
//
// The reference is a small Cargo project, ../rhai-reference; it runs without its optimizer where answers are compared
// and with it where speed is. Nothing that users get depends on it.
package main
