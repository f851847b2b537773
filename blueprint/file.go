package blueprint

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// ParseFile reads a blueprint's file. A step may name the file of its script,
// which is put into it: a path relative to the blueprint's folder and within
// it, also by its links.
//
// Errors: *[Error] with all that is wrong; those of [domain.FileErrorf] for
// the file itself.
func ParseFile(path string) (*domain.Blueprint, error) {
	return parseFile(path, domain.MaxBlueprintBytes)
}

// ParsePlanFile is ParseFile for one that is not stored but comes with a flow: that may be
// larger.
func ParsePlanFile(path string) (*domain.Blueprint, error) {
	return parseFile(path, domain.MaxPlanBytes)
}

// ParseHooksFile reads the file of a context's hooks: what stands under `on` of a blueprint.
//
// Errors: as of [ParseFile].
func ParseHooksFile(path string) (*domain.Hooks, error) {
	f, err := document.Open(path, "hooks", int64(domain.MaxHooksBytes))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseHooks(path, f.Text, f.Script)
}

func parseFile(path string, most int) (*domain.Blueprint, error) {
	f, err := document.Open(path, "blueprint", int64(most))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parse(path, f.Text, f.Script, most)
}
