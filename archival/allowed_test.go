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

// TestWhatIsAllowedAreBuckets: a list in one text would allow nothing, and nobody would notice.
func TestWhatIsAllowedAreBuckets(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	for _, wrong := range []string{"jetstream://,file:///a", "/var/archive"} {
		_, err := New(Config{JS: js, Source: struct{ Source }{}, Shards: 1, Namespaces: namespaces.Fixed{}, Allowed: []string{"file:///a", wrong}})
		assert.ErrorContains(t, err, "--archive-allow", wrong)
	}
}
