// Package queue has the grammar of the names of queues: how they are made and
// read, which belong together, and what their items stand for. Every other package
// calls it, so a name is spelt here and nowhere else.
//
//	queue:<type>                      jobs of a script type
//	queue:<type>:p<1-9>               those of a priority
//	queue:<type>:runner<id>           those for one runner
//	queue:<type>:at:<labels>[:p<n>]   those that ask for labels: zone=eu,gpu=yes
//	rhai_tasks:<circle>               ids of a circle's tasks
//	msg_out, msg_out_coordinator      messages to be sent, and sent
//	msg_in                            messages that came
//	ramet:queue:<what>                what the engine gives itself to do
//
// A queue's name says three things more. Its [Group] is the name under which the
// board keeps its turns: those of a priority take turns with the plain one. Its
// [CapGroup] is what its leases are counted under: all queues of a type share one.
// And [NamePrefix] says which records its items stand for.
package queue
