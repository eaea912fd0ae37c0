package archival

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestAllowedBuckets: a namespace uses the bucket of the installation, and what an operator has allowed, and nothing beside it.
func TestAllowedBuckets(t *testing.T) {
	t.Parallel()
	allowed := []string{"file:///var/archive", "s3://cold", "jetstream://team"}
	for address, want := range map[string]bool{
		"jetstream://": true, "jetstream://team": true, "jetstream://team-2": false, "jetstream://other": false,
		"file:///var/archive": true, "file:///var/archive/": true, "file:///var/archive/shop": true, "file:///var/archives": false, "file:///var": false,
		"file:///var/archive/../../etc": false, "file:///var/archive/%2e%2e/%2e%2e/etc": false, "file:///etc": false,
		"s3://cold": true, "s3://cold?region=x": true, "s3://cold-2": false, "s3://warm": false, "%": false,
	} {
		assert.Equal(t, want, isAllowed(address, allowed), address)
	}
	assert.False(t, isAllowed("file:///a", nil))
	assert.True(t, isAllowed("file:///a", []string{"file:///"}))
	assert.True(t, isAllowed("jetstream://any", []string{"jetstream://"}))
}

// TestAQueryLeadsNowhereElse: a query says where the servers of a bucket are and whose credentials they get, so a namespace has the query that an operator has
// allowed. Only what is below by its prefix, and the region of S3, a namespace may choose.
func TestAQueryLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		allowed, address string
		want             bool
	}{
		{"s3://cold", "s3://cold?region=eu-central-1", true},
		{"s3://cold", "s3://cold?prefix=team/", true},
		{"s3://cold", "s3://cold/?prefix=team&region=eu-central-1", true},
		{"s3://cold", "s3://cold?endpoint=https://evil.example", false},
		{"s3://cold", "s3://cold?region=x&endpoint=http://169.254.169.254", false},
		{"s3://cold", "s3://cold/below?endpoint=http://nats:8222", false},
		{"s3://cold", "s3://cold?%65ndpoint=https://evil.example", false},
		{"s3://cold", "s3://cold?endpoint", false},
		{"s3://cold", "s3://cold?profile=admin", false},
		{"s3://cold", "s3://cold?role=arn:aws:iam::1:role/evil", false},
		{"s3://cold", "s3://cold?kmskeyid=theirs", false},
		{"s3://cold", "s3://cold?disable_https=true", false},
		{"s3://cold", "s3://cold?key=object", false},
		{"s3://cold", "s3://cold?unheard=of", false},
		{"s3://cold", "s3://cold?region=evil.example/", false},
		{"s3://cold", "s3://cold?region=evil.example%23", false},
		{"s3://cold", "s3://cold?region=", false},
		{"s3://cold", "s3://cold?region=a&region=b", false},
		{"s3://cold", "s3://cold?prefix=a&prefix=b", false},
		{"s3://cold", "s3://cold?prefix=../other", false},
		{"s3://cold", "s3://cold?region=a;endpoint=https://evil.example", false},
		{"s3://cold", "s3://cold?region=%zz", false},
		{"s3://cold", "s3://cold/#?region=x", false},
		{"s3://cold?region=a", "s3://cold?region=a", true},
		{"s3://cold?region=a", "s3://cold?prefix=b&region=a", true},
		{"s3://cold?region=a", "s3://cold?region=b", false},
		{"s3://cold?region=a", "s3://cold", false},
		{"s3://cold?endpoint=https://own&use_path_style=true", "s3://cold?use_path_style=true&endpoint=https://own", true},
		{"s3://cold?endpoint=https://own&use_path_style=true", "s3://cold/below?use_path_style=true&endpoint=https%3A%2F%2Fown&region=x", true},
		{"s3://cold?endpoint=https://own", "s3://cold?endpoint=https://own.evil.example", false},
		{"s3://cold?endpoint=https://own", "s3://cold?endpoint=https://own&endpoint=https://evil.example", false},
		{"s3://cold?endpoint=https://own", "s3://cold?endpoint=https://own&anonymous=true", false},
		{"s3://cold?endpoint=https://own", "s3://cold", false},
		{"s3://cold?endpoint=https://own", "s3://warm?endpoint=https://own", false},
		{"s3://cold?prefix=team/", "s3://cold?prefix=team/", true},
		{"s3://cold?prefix=team/", "s3://cold?prefix=team/a", true},
		{"s3://cold?prefix=team", "s3://cold?prefix=team/a", true},
		{"s3://cold?prefix=team", "s3://cold?prefix=team-2", false},
		{"s3://cold?prefix=team/", "s3://cold?prefix=team/../other/", false},
		{"s3://cold?prefix=team/", "s3://cold?prefix=other/", false},
		{"s3://cold?prefix=team/", "s3://cold", false},
		{"azblob://cold", "azblob://cold", true},
		{"azblob://cold", "azblob://cold?prefix=a/", true},
		{"azblob://cold", "azblob://cold?storage_account=theirs", false},
		{"azblob://cold", "azblob://cold?domain=evil.example", false},
		{"azblob://cold", "azblob://cold?protocol=http", false},
		{"azblob://cold", "azblob://cold?localemu=true", false},
		{"azblob://cold", "azblob://cold?cdn=true", false},
		{"azblob://cold?storage_account=ours", "azblob://cold?storage_account=ours", true},
		{"gs://cold", "gs://cold?private_key_path=/etc/key", false},
		{"gs://cold", "gs://cold?universe_domain=evil.example", false},
	} {
		assert.Equal(t, one.want, isAllowed(one.address, []string{one.allowed}), "%s, if %s is allowed", one.address, one.allowed)
	}
}

// TestWhatIsAllowedAreBuckets: a list in one text would allow nothing, and nobody would notice.
func TestWhatIsAllowedAreBuckets(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	for _, wrong := range []string{"jetstream://,file:///a", "/var/archive"} {
		_, err := New(Config{JS: js, Source: struct{ Source }{}, Shards: 1, Namespaces: namespaces.Fixed{}, Allowed: []string{"file:///a", wrong}})
		assert.ErrorContains(t, err, "--archive-allow", wrong)
	}
}
