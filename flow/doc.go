// Package flow runs graphs of jobs.
package flow
