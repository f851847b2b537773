package s3store

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Clear is what [Store.Blobs] does on its way.
func (s *Store) Clear(ctx context.Context, t domain.TenantID, before time.Time) {
	s.clear(ctx, t, before)
}

// Begun are the names of what is being put in parts.
func (s *Store) Begun(ctx context.Context, t domain.TenantID) (keys []string, err error) {
	page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.key(t, ""), "", "", "", 0)
	for _, u := range page.Uploads {
		keys = append(keys, u.Key)
	}
	return keys, err
}
