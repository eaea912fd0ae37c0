package segment_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/console/internal/segment"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func TestSegments(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		".": "~.", "..": "~..", "~.": "~~.", "~~..": "~~~..", "...": "...", "~": "~", "~...": "~...", "~a": "~a", "a/b": "a%2Fb", "/": "~%2F", "//": "%2F%2F", "%2e": "%252e", "": "",
	} {
		assert.Equal(t, want, segment.Escape(id), id)
	}
}

// TestEveryIDComesBack: whatever the ID is, a client that resolves the address as browsers do gets to its handler, and no other ID does.
func TestEveryIDComesBack(t *testing.T) {
	t.Parallel()
	const pattern = "GET /schedules/{id}/edit"
	var got string
	mux := http.NewServeMux()
	mux.HandleFunc(pattern, segment.Handler(pattern, func(_ http.ResponseWriter, r *http.Request) { got = r.PathValue("id") }))
	base, err := url.Parse("http://127.0.0.1/schedules/")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringN(1, 20, 255), rapid.StringMatching(`[.~/%2e\\ ?#:]{1,6}`)).Draw(t, "id")
		address, err := base.Parse("/schedules/" + segment.Escape(id) + "/edit")
		require.NoError(t, err)
		require.True(t, segment.IsClean(address))
		got = ""
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, address.String(), nil))
		require.Equal(t, http.StatusOK, answer.Code, address)
		require.Equal(t, id, got)
	})
}

func TestIsClean(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/a/b": true, "/a/b/": true, "/a/%2E%2E/b": true, "/a/~../b": true, "/a//b": false, "/a/./b": false, "/a/..": false, "//": false, "/a/b/.": false,
	} {
		of, err := url.Parse("http://h" + path)
		require.NoError(t, err)
		assert.Equal(t, want, segment.IsClean(of), path)
	}
}
