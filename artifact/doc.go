// Package artifact is the contract of the store in which jobs leave files for those who
// come after them, and for people: a binary that one step builds and another tests, a
// report. Everything above is written once against [Store]; artifacttest proves every
// driver equal.
//
//	work folder ── matching files ──> Put ──> store ──> Open ──> $RAMET_ARTIFACTS/<step>/
//	                                   │                  └────> people
//	                                   └─ then the job's end is committed, with the manifest's sum
//
// # What lies there
//
// Blobs, by the SHA-256 of what is in them and apart for each context: who may not read
// a context gains nothing by knowing a sum. What a job left is a [Manifest], which is a blob
// itself: 100,000 names do not fit into a record of the board. The board has one small
// record for each job that left something, beside the job; see package layout.
//
// # What is removed, and when
//
// A blob that no manifest names is nobody's: its job was killed between Put and commit, or
// what it left has expired. Nodes look for those (mark and sweep) and remove what was put
// longer than [Grace] ago. So Put makes even what is there already young again, and
// whoever puts commits within that time.
package artifact
