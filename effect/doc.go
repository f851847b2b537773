// Package effect calls the outside world for sagas and flows: at least once,
// under one key that never changes, and gives the result back once.
//
//	WORKFLOW_COMMANDS ──> consumer ──> gate: what does the board know of it?
//	                       │                 │
//	              bans, breaker, cap ──> [Provider] ──failed──> back to the stream,
//	                                         │                  to come again
//	                                         v
//	       ack <── mark: done <── WORKFLOW_EVENTS <── mark: decided
//
// What effects there are is said by the operator of the node, in its config
// file: where they go, with which secrets, how often. A saga names an effect and
// gives a payload, no more.
//
// # What is promised
//
// A command is tried at least once, and every attempt gives the target the same
// key: the command's id. How it ended is written to the board before it is
// published, so that it ends in one result however often it comes, and whatever
// falls between: see [Mark]. A crash between the target's answer and that commit
// has the target asked again: the key is what keeps it from doing it twice. The
// command is acked last of all.
//
//	crash after        what the next delivery finds          what it does
//	the call           no mark, or trying                    calls again, same key
//	mark: decided      the result                            publishes it (again)
//	the publish        the result                            publishes it, under the same ID
//	mark: done         done                                  acks
//
// Commands that cannot be tried (no JSON, subject and data disagree, no such
// context) and those that the broker gives up on become dead letters.
//
// # Attempts
//
// Within an attempt there are the time-out, the target's breaker and its cap,
// nothing else; what comes between two attempts is durable: the command goes
// back to the stream with a delay, and its mark counts. While a breaker is open
// or a ban holds, commands are left where they are. A refusal ends a command at
// once, whatever attempts it has left.
//
// # What providers may reach
//
// Connections are made by one [Dialer], which holds every resolved address
// against the egress rules. Secrets are options of type [Text], read when they
// are used, and taken out of whatever comes back: answers and errors.
//
// # Goroutines of [Worker.Run]
//
//	one for each effect     takes commands (consumer)
//	one for each command    tries it (run)
//	four                    end commands in groups (finisher)
//	one                     tells the broker what is in flight
//	one                     reads what the broker gave up on
//
// When ctx ends no more commands are taken, those in flight get the grace, and
// their results are published. [Worker.Use] changes the definitions while all
// goes on: consumers of the old set end as above, new ones begin beside them.
//
// Source: seed 003, part 6.
package effect
