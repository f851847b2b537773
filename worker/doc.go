// Package worker runs a program's own functions as jobs of a context.
//
//	w := worker.New(c, worker.Config{Context: 7})
//	worker.Handle(w, "mail", func(ctx context.Context, job *worker.Job, args Mail) (Receipt, error) {
//		…
//	})
//	err := w.Run(ctx)
//
// Jobs of the type "mail" carry their arguments as JSON in the place of a script. The
// worker asks a node for them over HTTP, as an executor of the context, and has the
// leases itself: the node may die, and the worker goes on through the next one that
// answers at the client's address.
//
// A job may be run more than once, as everywhere: when the worker dies, or loses its
// lease because it could not reach a node in time. [Job.Attempt] tells one run from
// another, and the job's key is the same in all of them.
//
// # Goroutines
//
// [Worker.Run] starts one loop that claims, two that hand in ends, one that renews
// leases, and one goroutine for each job in hand, which has one more while it logs. All
// have ended when it returns, unless a function does not listen to its context: then Run
// says so in the log and leaves it.
//
// # On failure
//
// While no node answers, functions go on until shortly before their lease runs out; then
// their context ends with [ErrLost], because another worker may have the job next. Ends
// are handed in again until then. A function that panics costs its attempt, nothing else.
package worker
