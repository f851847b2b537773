package s3store

import (
	"context"

	"github.com/ramet-run/ramet/domain"
)

// Begun are the names of what is being put in parts.
func (s *Store) Begun(ctx context.Context, t domain.TenantID) (keys []string, err error) {
	page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.key(t, ""), "", "", "", 0)
	for _, u := range page.Uploads {
		keys = append(keys, u.Key)
	}
	return keys, err
}
