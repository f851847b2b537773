// Command typecheck says what the compiler would say of packages on other
// systems than this one, without compiling what they depend on:
//
//	go run ./tools/typecheck darwin/arm64 ./cmd/ramet linux/arm64 ./script/jail
//
// To compile the program's dependencies for another system costs more than two
// minutes of a processor, to read them a tenth of that.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 || len(args)%2 != 0 {
		fmt.Fprintln(os.Stderr, "usage: typecheck SYSTEM/PROCESSOR PACKAGES [SYSTEM/PROCESSOR PACKAGES ...]")
		os.Exit(2)
	}
	wrong := 0
	for ; len(args) > 0; args = args[2:] {
		n, err := check(args[0], args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, "typecheck:", err)
			os.Exit(2)
		}
		wrong += n
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// check prints what is wrong with packages, and with what they import, on a
// system such as linux/arm64, and counts it.
func check(system, pattern string) (int, error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, fmt.Errorf("system %q: want one such as darwin/arm64", system)
	}
	// NeedDeps has dependencies read from their source: otherwise they are compiled.
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
			packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes | packages.NeedModule,
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
	}, pattern)
	if err != nil {
		return 0, err
	}
	// Those of what they import count, too.
	wrong := packages.PrintErrors(list)
	fmt.Printf("%s on %s: %d errors\n", pattern, system, wrong)
	return wrong, nil
}
