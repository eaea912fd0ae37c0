package archive_test

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// fakeS3 answers what an archive asks S3 for, for one bucket.
type fakeS3 struct {
	mu      sync.Mutex
	objects map[string][]byte
}

type listed struct {
	XMLName        xml.Name `xml:"ListBucketResult"`
	Contents       []listedObject
	CommonPrefixes []listedPrefix
	IsTruncated    bool
}

type listedObject struct {
	Key, ETag, LastModified string
	Size                    int
}

type listedPrefix struct{ Prefix string }

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/cold"), "/")
	data, exists := f.objects[name]
	switch {
	case r.Method == http.MethodPut:
		f.objects[name], _ = io.ReadAll(r.Body)
		w.Header().Set("ETag", `"x"`)
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		_ = xml.NewEncoder(w).Encode(f.list(r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter")))
	case !exists:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `<Error><Code>NoSuchKey</Code></Error>`)
	default:
		w.Header().Set("Last-Modified", "Sat, 28 Nov 2026 10:00:00 GMT")
		_, _ = w.Write(data)
	}
}

func (f *fakeS3) list(prefix, delimiter string) (l listed) {
	for name, data := range f.objects {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if folder, _, deeper := strings.Cut(rest, "/"); delimiter != "" && deeper {
			if of := (listedPrefix{prefix + folder + "/"}); !slices.Contains(l.CommonPrefixes, of) {
				l.CommonPrefixes = append(l.CommonPrefixes, of)
			}
			continue
		}
		l.Contents = append(l.Contents, listedObject{name, `"x"`, "2026-11-28T10:00:00.000Z", len(data)})
	}
	return l
}

// TestS3: an execution is saved to S3, found and verified there.
func TestS3(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	of := &fakeS3{objects: map[string][]byte{}}
	server := httptest.NewServer(of)
	defer server.Close()
	in, err := archive.Store{}.Open(t.Context(), "s3://cold?region=eu-central-1&use_path_style=true&endpoint="+server.URL)
	require.NoError(t, err)
	defer in.Close()
	info, events := closed()
	a, err := archive.Encode("default", info, events)
	require.NoError(t, err)
	require.NoError(t, in.Save(t.Context(), a))
	require.Len(t, of.objects, 5, "history, entry, and what names its day, type and hour")
	days, err := in.Days(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, []string{"2026-11-28"}, days)
	entry, err := in.Entry(t.Context(), a.Object)
	require.NoError(t, err)
	require.NoError(t, in.Verify(t.Context(), entry))
	of.objects[a.Entry.History] = []byte("{}")
	require.ErrorIs(t, in.Verify(t.Context(), entry), archive.ErrDiffers)
	delete(of.objects, a.Entry.History)
	require.ErrorIs(t, in.Verify(t.Context(), entry), archive.ErrNotFound)
	server.Close()
	require.Error(t, in.Save(t.Context(), a))
}
