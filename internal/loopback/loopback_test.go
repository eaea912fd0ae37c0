package loopback_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/loopback"
)

func TestIsHost(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost", "127.0.0.1", "127.8.9.1", "::1"} {
		assert.True(t, loopback.IsHost(host), host)
	}
	for _, host := range []string{"", "0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example", "127.1", "[::1]", "127.0.0.1:80"} {
		assert.False(t, loopback.IsHost(host), host)
	}
}
