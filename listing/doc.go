// Package listing pages through the records of a space so that a page costs
// what is on it, however many records there are. There are three ways, and [All] for what
// there is little of:
//
//	[Records.Newest]  newest first, by the numbers that a counter gave out: from the
//	                  counter downwards, one look for each number; then what has no
//	                  such number, in the board's own order
//	[Records.Live]    what has not ended, in the order in which it began
//	[Records.Logged]  what a log of the board names, from its newest entry on
//
// A page looks at a bounded number of records and returns a cursor to go on
// with, which says which way it was and how far. Cursors hold while records come,
// change and go: what is there all the time comes at least once.
package listing
