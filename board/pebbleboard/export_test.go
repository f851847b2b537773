package pebbleboard

// For tests from outside.
var CheckLogs = checkLogs
