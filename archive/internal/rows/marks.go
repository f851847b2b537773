package rows

import (
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// Marks reads the table "marks".
const Marks = "SELECT name, value FROM marks"

// ScanMarks reads the rows of Marks.
func ScanMarks(next func() bool, scan func(dest ...any) error) (map[string]string, error) {
	all := map[string]string{}
	for next() {
		var name, value string
		if err := scan(&name, &value); err != nil {
			return nil, err
		}
		all[name] = value
	}
	return all, nil
}

// ScanHighest reads rows of context, kind, caller and highest id.
func ScanHighest(next func() bool, scan func(dest ...any) error) (list []archive.Highest, err error) {
	for next() {
		var tenant, caller int64
		var h archive.Highest
		if err := scan(&tenant, &h.Kind, &caller, &h.ID); err != nil {
			return nil, err
		}
		h.Context, h.Caller = domain.TenantID(tenant), domain.ActorID(caller)
		list = append(list, h)
	}
	return list, nil
}
