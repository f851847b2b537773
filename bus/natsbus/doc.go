// Package natsbus carries parcels over NATS JetStream: over a server inside
// this process, over a cluster that somebody runs, and between the servers of
// two sites.
//
// # One identity
//
// A node's address is "nats:<64 hex digits>": its Ed25519 public key. The same
// key logs it in to a server, as a NATS user nkey (the same 32 bytes, written
// "U…"). So what a node may do hangs on the key that signs its receipts, and no
// password exists. (An external server may ask for a credentials file instead.)
//
// # Mailboxes
//
//	subject  ramet.parcel.<to>.<from>   a parcel; both are keys in hex
//	stream   parcel-<to>                the mailbox of one node: subject ramet.parcel.<to>.*
//	consumer node                       of each mailbox; pulled by that node, explicit acks
//
// Send publishes with a request for an answer and returns when a stream has
// taken the parcel. Where nobody takes parcels for that key, NATS says so at
// once, and Send with it: unavailable. Receive gets what the pull loop fetched:
// up to 256 parcels or 4 MiB a request. Done acknowledges; a mailbox is a work
// queue, so what is acknowledged is gone, and several processes of one node
// share it. What is not acknowledged comes again after Config.AckWait, or at
// once when its holder was closed. A mailbox forgets after a week, and the
// oldest first beyond its limits; the boards of the two sides remember.
//
// # Who may do what
//
// Every node has a NATS account of its own on the server, and can reach nothing
// outside it but what the account imports from the account "ramet", where the
// mailboxes lie (see grant):
//
//	ramet.parcel.*.<own key>                        send, under its own name
//	$JS.API.CONSUMER.MSG.NEXT.parcel-<own>.node     fetch from its own mailbox
//	$JS.ACK.parcel-<own>.node.>                     acknowledge what came from there
//	$JS.API.STREAM.INFO.parcel-<own>, CONSUMER.INFO look at it
//
// Accounts, not permissions within one: a permission limits what a node may
// publish, but not where the server sends its answer. With a reply subject of
// another's, a node within the same account could have the server itself put
// forged parcels into a mailbox.
//
// The embedded server knows nodes by Config.Peers, asked at each log-in;
// [Bus.Refresh] ends connections of those that are no longer listed.
// [ServerConfig] writes the same accounts for an external server, and [Prepare]
// makes the mailboxes there.
//
// # Sites
//
// Embedded servers of two sites join as NATS leaf nodes (Config.LeafListen on
// one, Config.Leafs on the other). Each link ends, on both sides, in an account
// of its own that holds nothing. A relay stands between it and the account
// "ramet": it lets out what is for the nodes of the other site, lets in what is
// from them and for nodes that have their mailbox here, and nothing else. A
// site does not pass on what goes from one neighbour to another. While a link
// is down, Send says unavailable at once; see docs/decisions/0014.
//
//	node ─► account ramet ─► relay ─► account link ══ leaf ══ account link ─► relay ─► account ramet ─► mailbox
//	  ◄───────────────────────── the stream's answer ────────────────────────────────────┘
//
// # What survives
//
// The embedded server answers when a parcel is with the operating system, and
// syncs every two minutes: a parcel survives the process, not a power cut
// (durability "process"). With Config.SyncAlways each parcel is synced first
// ("disk"; JetStream does not group syncs, so expect the disk's fsync rate). Of
// an external server we know whether the mailbox has replicas ("quorum" from
// three) and nothing of its syncing ("process").
//
// # Goroutines
//
//	pull     one: makes sure the mailbox is there, fetches, hands to Receive
//	serve    one for each parcel that a relay has under way, at most 256 a way
//	         of a link
//
// and those of the NATS client and server. All end with Close.
//
// # Failure
//
// Connections come back by themselves, for ever, after 50 ms to 5 s. A mailbox
// that was deleted is made anew where that is allowed, and else waited for. A
// server that falls silent is noticed after 10 s by the pull loop's heartbeats.
package natsbus
