// Package migrate turns what other programs run by into blueprints and schedules. What it
// understands comes out as something that passes the checks; what it does not, and what
// means something else here, is said with its line: nobody is to find out at night.
//
// A format is a function from a text to [Imported]. Those that are YAML or JSON read it
// through a [fields], which knows what of it nobody has asked for.
package migrate
