package archival

import (
	"context"
	"fmt"
	"maps"
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
	if u, err := url.Parse(address); err != nil || strings.Contains(address, "#") || !isPlainPath(u.Path) {
		return false
	}
	return slices.ContainsFunc(allowed, func(one string) bool {
		asked, query, _ := strings.Cut(address, "?")
		base, limits, _ := strings.Cut(one, "?")
		return isBelow(asked, base) && isQueryAllowed(query, limits)
	})
}

// isPlainPath reports whether a path means what it says: one such as /a/../b would not be below /a.
func isPlainPath(text string) bool {
	return text == "" || text == "/" || path.Clean(text) == strings.TrimSuffix(text, "/")
}

// isBelow reports whether a text is another one, or is below it.
func isBelow(text, of string) bool {
	rest, ok := strings.CutPrefix(text, of)
	return ok && (rest == "" || strings.HasSuffix(of, "/") || rest[0] == '/')
}

// isQueryAllowed reports whether the query of a URL leads nowhere else than the query of an allowed one. A query says much about a bucket besides its name:
// where its servers are, and whose credentials they get. So the two must be the same, apart from a prefix, which leads to what is below, and a region, if
// the operator has named none. There may be any key that a cloud comes to know: what is not known here is not allowed.
func isQueryAllowed(query, limits string) bool {
	asked, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	most, err := url.ParseQuery(limits)
	if err != nil {
		return false
	}
	prefix, within := asked.Get("prefix"), most.Get("prefix")
	if len(asked["prefix"]) > 1 || !isPlainPath("/"+strings.TrimPrefix(prefix, "/")) || within != "" && !isBelow(prefix, within) {
		return false
	}
	if region := asked["region"]; !most.Has("region") && (len(region) == 0 || len(region) == 1 && isRegion(region[0])) {
		delete(asked, "region")
	}
	delete(asked, "prefix")
	delete(most, "prefix")
	return maps.EqualFunc(asked, most, slices.Equal)
}

// isRegion reports whether a text can be the name of a region, which becomes part of the name of a host.
func isRegion(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
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
