// Package durable lets a script remember what it has done, sleep for days and wait for
// signals, and go on after a crash, on another node, where it was.
//
// # How a script goes on where it was
//
// A job's history is a list of events: each step that was done with its answer, each
// sleep with its end, each random number. An attempt at the job runs the script from its
// top. What the script asks for that its history has, it is given from there; what is new
// is done, and stands in the history before the script hears that it was done.
//
//	script                       channel                           board
//	step "charge"      ───>      is it in the history?
//	                   <───      no: do it; its key is …
//	(the script does it)
//	done "charge" 17   ───>      an event, under the lease  ───>   committed
//	                   <───      {"done":true}
//	sleep "nap" 3 days ───>      until when, under the lease ───>  committed
//	                   <───      {"suspend":true}
//	(the process ends)           the job waits for its alarm, without process and slot
//
// [Script] is the history of one attempt and decides; whoever runs the attempt gives it a
// [Store], whose commits the lease of the job guards: a stale owner cannot write.
//
// # The channel
//
// A script in any language speaks with its node by [Channel]: native functions call it as
// it is, processes over the Unix socket that $RAMET_CHANNEL names, in the job's work
// folder. ($RAMET_CHANNEL is an absolute path. A path of more than 100 bytes does not fit
// into a socket address: connect to it by its folder, as "/proc/self/fd/<fd of the
// folder>/<name>" on Linux, or from within the folder.)
//
// Each request is one line of JSON, each answer is another. A connection may have several
// requests under way; the answer has the id of its request, a number that the script
// chooses. A script may have many connections: they share one history. A step that was
// begun over a connection is told done over the same one: when that closes, it is not being
// done any more. A line has at most [MaxLine] bytes.
//
//	{"id":1, "do":"step", "name":"charge"}
//	     {"id":1, "done":true, "value":17, "n":1}                      it was done: this came of it
//	     {"id":1, "done":true, "failure":{"text":"no money"}, "n":1}   it was done, and failed for good
//	     {"id":1, "done":false, "n":1, "key":"4cd5…", "attempt":1}     do it, then say so:
//	{"id":2, "do":"done", "name":"charge", "n":1, "value":17}
//	     {"id":2, "done":true}                                         it is on the board
//	{"id":2, "do":"done", "name":"charge", "n":1, "failure":{"kind":"TypeError","text":"…"}}
//	{"id":2, "do":"done", "name":"charge", "n":1, "failure":{"text":"busy"}, "retry_after_ms":5000}
//	     {"id":2, "again":true, "after_ms":5000}                       ask for the step again, with this n
//	{"id":3, "do":"drop", "name":"charge", "n":1}                      it was begun and is not being done any more
//	     {"id":3, "done":true}
//	{"id":4, "do":"sleep", "name":"nap", "for_ms":259200000}           or "until_ms": Unix milliseconds
//	     {"id":4, "done":true}                                         it is over
//	     {"id":4, "suspend":true}                                      end the process now
//	{"id":5, "do":"wait", "name":"click", "signal":"click", "timeout_ms":60000}   signal: default its name
//	     {"id":5, "done":true, "value":{"by":"ann"}}                   what the signal brought
//	     {"id":5, "done":true, "timed_out":true}
//	     {"id":5, "suspend":true}
//	{"id":6, "do":"now"}         {"id":6, "done":true, "value":1764190000123}      Unix milliseconds
//	{"id":7, "do":"random"}      {"id":7, "done":true, "value":0.2834}             0 <= value < 1
//	{"id":8, "do":"uuid"}        {"id":8, "done":true, "value":"0193…"}
//	{"id":9, "do":"version", "name":"mail", "n":2}
//	     {"id":9, "done":true, "value":2}                              0: the script ran past here before it had it
//	     {"id":9, "error":{"kind":"drift","text":"…"}}
//
//	{"id":10, "do":"call", "calls":[{"name":"bill", "blueprint":"billing", "params":{"order":"17"}}, {"name":"sum", "script":"…"}]}
//	     {"id":10, "done":true, "ends":[{"value":{"total":"5"}, "child":"flow:33"}, {"failure":{"text":"…"}, "child":"job:12:8"}]}
//	{"id":11, "do":"wait", "name":"data", "prerequisite":"file:in.csv", "timeout_ms":3600000}
//	     {"id":11, "done":true, "value":true}
//	{"id":12, "do":"wait", "name":"pay", "approval":{"text":"Pay 5?", "approvers":["admin"]}}
//	     {"id":12, "done":true, "value":{"approved":true, "by":"9", "comment":"", "answers":{}}}
//
// n counts the steps of one name in the order in which an attempt asks for them, from 1:
// a step in a loop needs no name of its own for each round. The channel counts; a request
// for a step carries an n only to ask again for one that was begun.
//
// key is one for the step of this job for ever, in each attempt: give it to whoever is
// called, as its idempotency key. It is a UUID.
//
// # Suspension
//
// An answer {"suspend":true} says that the wait is long: the process is to end, at once
// and however it likes; its exit code says nothing. The job then waits for its time or
// signal, without a process and without a slot, and spends no retry. A process that does
// not end is told to (SIGTERM) a second later, and at once where its request had
// "stop":true. While a step is being done beside it, the answer waits for that step. What
// takes less than [Short] is waited for without ending the process.
//
// # Errors
//
// kind is invalid (the request says why), over a limit, drift, unavailable (the board did
// not answer: the helper asks the same again, a little later), conflict, lost (the job is somebody else's: the
// process is being ended). After drift, too, the process is being ended: the script asks
// for something else than its history has at that place, the job ends in error, and its
// error says what differs. See [Script].
package durable
