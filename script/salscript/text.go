package salscript

import (
	"path"
	"strings"
	"unicode"
)

// This file holds the functions on texts.

func textFunctions() []function {
	return []function{{"dedent", dedent}, {"prefix", prefix}, {"name_fix", nameFix}, {"path_fix", pathFix}}
}

// tabWidth is what a tab counts in an indentation.
const tabWidth = 4

// dedent takes away the indentation that all lines have in common; empty lines
// do not count.
func dedent(text string) string {
	all := strings.Split(text, "\n")
	least := -1
	for _, line := range all {
		if body := strings.TrimLeft(line, " \t"); body != "" {
			if n := width(line[:len(line)-len(body)]); least < 0 || n < least {
				least = n
			}
		}
	}
	for i, line := range all {
		if strings.TrimSpace(line) == "" {
			all[i] = ""
			continue
		}
		cut := 0
		for n := 0; n < least; cut++ {
			n += width(line[cut : cut+1])
		}
		all[i] = line[cut:]
	}
	return strings.Join(all, "\n")
}

func width(indent string) int { return len(indent) + (tabWidth-1)*strings.Count(indent, "\t") }

// prefix puts p before each line.
func prefix(text, p string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = p + all[i]
	}
	return strings.Join(all, "\n")
}

// nameFix makes a name of lower-case ASCII: blanks and special characters
// become one underscore, others than ASCII go.
func nameFix(text string) string {
	const special = "-,\"'#!@$%^&*()[]{}=+:;<>/\\|?~`"
	var b strings.Builder
	last := ' '
	for _, r := range text {
		if r > unicode.MaxASCII {
			continue
		}
		if unicode.IsSpace(r) || strings.ContainsRune(special, r) {
			r = '_'
		}
		if r == '_' && last == '_' {
			continue
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return b.String()
}

// pathFix does so with the last part of a path; one that ends in a slash stays.
func pathFix(text string) string {
	dir, name := path.Split(text)
	return dir + nameFix(name)
}
