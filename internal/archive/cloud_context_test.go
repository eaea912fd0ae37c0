//go:build !gcs

package archive_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// keeping opens buckets as the opener of gs:// does: it keeps the first context for all tokens that it asks for later.
type keeping struct {
	ctx context.Context //nolint:containedctx // that is what the test is about
}

func (k *keeping) OpenBucketURL(ctx context.Context, _ *url.URL) (*blob.Bucket, error) {
	if k.ctx == nil {
		k.ctx = ctx
	}
	return memblob.OpenBucket(nil), nil
}

// TestCredentialsOutliveTheOpening: the context that the credentials of a cloud keep does not end when the bucket is open.
func TestCredentialsOutliveTheOpening(t *testing.T) {
	t.Parallel()
	of := &keeping{}
	blob.DefaultURLMux().RegisterBucket("gs", of)
	ctx, cancel := context.WithCancel(t.Context())
	in, err := archive.Store{}.Open(ctx, "gs://cold")
	require.NoError(t, err)
	defer in.Close()
	cancel()
	require.NoError(t, of.ctx.Err())
}
