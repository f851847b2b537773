// Package natsbus carries parcels over NATS JetStream: over a server inside
// this process, over a server or cluster that somebody runs, and between the
// servers of two sites. docs/decisions/0014 says why it is made this way.
//
// # One identity
//
// A node's address is "nats:<64 hex digits>": its Ed25519 public key. It logs in
// with another key, its link key, which signs nothing but what NATS servers send
// ([natslink.Key]); peers know it by the node's card. There is no password. (An
// external server may ask for one all the same.) To the server inside a node the
// log-in names that node, so that nobody can pass it on to another server.
//
// # Accounts and mailboxes
//
// Each node has a NATS account of its own on a server. In it lies its mailbox,
// the stream parcel-<key>, with one consumer, node, that its processes share.
// Accounts see nothing of each other; parcels go through a further one:
//
//	account node-<from>        account ramet (the exchange)                  account node-<to>
//	ramet.send.<to>.<from> ──► the same, mapped to ramet.parcel.<to>.<from> ──► the same, in the mailbox
//	       ◄─────────────────────── the stream's answer ───────────────────────────┘
//
// The exchange takes from an account only what bears its own name, so
// Parcel.From is certain. Within its account a node is free: there is only its
// mailbox, under a quota. The embedded server makes accounts as the nodes of
// Config.Peers log in; [Bus.Refresh] ends the connections of those that are no
// longer listed. For an external server [ServerConfig] writes the same accounts.
// On one without them, where all nodes share an account, everything works, and
// all who may connect are trusted.
//
// Send returns when a mailbox has the parcel. Where nobody takes parcels for
// that key, NATS says so at once, and Send with it: unavailable. Receive gets
// what the pull loop fetched: up to 256 parcels or 4 MiB a request. Done
// acknowledges; a mailbox is a work queue, so what is acknowledged is gone.
// What is not comes again after Config.AckWait, or at once when its holder was
// closed. A mailbox forgets after a week, and the oldest first beyond its
// limits; the boards of the two sides remember.
//
// # Sites
//
// Embedded servers of two sites join as NATS leaf nodes (Config.LeafListen on
// one, Config.Leafs on the other). Each link ends, on both sides, in an account
// that holds nothing. A relay stands between it and the exchange: it lets out
// what is for the nodes at the other end, lets in what is from them and for
// nodes that have their mailbox here, and nothing else. A site does not pass on
// what goes from one neighbour to another. While a link is down, Send says
// unavailable at once.
//
//	exchange ◄─► relay ◄─► account leaf-<n> ══ link ══ account link-<key> ◄─► relay ◄─► exchange
//
// # What survives
//
// The embedded server answers when a parcel is with the operating system, and
// syncs every two minutes: a parcel survives the process, not a power cut
// (durability "process"). With Config.SyncAlways each parcel is synced first
// ("disk"; JetStream does not group syncs, so expect the disk's fsync rate). Of
// an external server we know whether our mailbox has replicas ("quorum" from
// three) and nothing of its syncing ("process").
//
// # Goroutines
//
//	pull   one: makes sure the mailbox is there, fetches, hands to Receive
//	carry  one for each parcel that a relay has under way, at most 256 each way
//
// and those of the NATS client and server. All end with Close.
//
// # Failure
//
// Connections come back by themselves, for ever, after 50 ms to 5 s; what waits
// for an answer on one that breaks ends at once. A mailbox or consumer that was
// deleted is made anew. A server that falls silent is noticed after 10 s, by
// the heartbeats of a fetch.
package natsbus
