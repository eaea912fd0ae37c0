package archive

import (
	"context"
	"fmt"
	"net/url"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/s3blob"    // s3://
)

// openCloud opens the bucket of a cloud. Its credentials come from where programs of that cloud take them: the environment, files, or the machine.
func openCloud(ctx context.Context, u *url.URL) (*Bucket, error) {
	if !blob.DefaultURLMux().ValidBucketScheme(u.Scheme) {
		return nil, fmt.Errorf("archive: this program was built without %s://: build it with -tags gcs", u.Scheme)
	}
	// The credentials of a cloud may keep the context for as long as the process lives, also for other buckets, and ask for each token with it.
	opened, err := blob.OpenBucket(context.WithoutCancel(ctx), u.String())
	if err != nil {
		return nil, fmt.Errorf("archive: open %s: %w", u.Redacted(), err)
	}
	return New(opened, nil), nil
}
