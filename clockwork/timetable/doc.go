// Package timetable computes when a schedule's times come. It is pure: the
// same schedule and instant give the same answer, whatever the clock says.
//
// Single times and spans are of real time. A cron expression is read by the
// clocks of a zone, which are moved twice a year in many places:
//
//   - An expression that names hours ("30 2 * * *") means times of the day. A
//     time that the clocks leave out comes once, at the moment they are moved
//     forward; one that they show twice comes the first time only.
//   - One whose hour is * ("*/15 * * * *") means every hour that passes: it
//     comes whenever the clocks show a matching time, both times where they
//     show it twice.
//
// Days that a zone left out altogether are clocks moved forward by a day.
package timetable
