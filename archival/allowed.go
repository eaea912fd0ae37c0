package archival

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// ownBucket is the bucket of the installation itself, which every namespace may use.
const ownBucket = "jetstream://"

// isAllowed reports whether an operator lets namespaces use a bucket. Each of the URLs allowed stands for itself and for what is below it.
func isAllowed(address string, allowed []string) bool {
	if address == ownBucket {
		return true
	}
	if u, err := url.Parse(address); err != nil || u.Path != "" && path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") && u.Path != "/" {
		return false // with a path such as /a/../b it would not be below /a
	}
	return slices.ContainsFunc(allowed, func(one string) bool {
		rest, ok := strings.CutPrefix(address, one)
		return ok && (rest == "" || strings.HasSuffix(one, "/") || rest[0] == '/' || rest[0] == '?')
	})
}

// openAllowed opens a bucket that namespaces may use.
func (s *Service) openAllowed(open func(context.Context, string) (*archive.Bucket, error)) func(context.Context, string) (*archive.Bucket, error) {
	return func(ctx context.Context, address string) (*archive.Bucket, error) {
		if !isAllowed(address, s.config.Allowed) {
			return nil, fmt.Errorf("archive: an operator must allow %s first: give the processes that archive --archive-allow URL", address)
		}
		return open(ctx, address)
	}
}
