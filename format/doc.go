// Package format says in which format things lie in data folders, event streams,
// archives and on boards, and what becomes of those of another program's.
//
// All of them have one number, the format's version, which is written where they are
// made and looked at each time they are opened:
//
//	data folder, streams folder   file format.json
//	board                         record ramet:format in space 0
//	archive                       mark "format"
//
// What has none is of version 1, for that was there before the number was.
//
//   - A newer one than this program knows is refused, with the release that it needs,
//     before anything is written.
//   - An older one is brought up to date by the steps of [Ours], one after the other, and
//     nowhere else. A step may be run again, after a crash within it, and finds nothing to
//     do where all is new.
//
// What belongs to a board is never newer than it: a node's data folder, its streams and the
// archive are brought up to date when the board is. A board that nodes share is brought up to date when no living node is of an older
// format, by a node that stays ([Keeper]): until then nodes of both are at work, and those
// of the newer one write nothing that the older ones cannot read. A node that was silent
// meanwhile finds itself too old when it is back, and stops.
//
// A change that older programs can live with, such as a new field that they ignore, needs
// no new version.
package format
