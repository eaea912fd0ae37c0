package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"

	"go.temporal.io/api/temporalproto/openapi"
)

// serveDefinitions adds Temporal's own definitions of its HTTP API, in OpenAPI 2 and 3. They are public, so nobody needs credentials for them.
// They have the calls that are not implemented, too.
func (g *Gateway) serveDefinitions(mux *http.ServeMux) {
	mux.Handle("GET /swagger.json", g.definition("application/vnd.oai.openapi+json;version=2.0", openapi.OpenAPIV2JSONSpec))
	mux.Handle("GET /openapi.yaml", g.definition("application/vnd.oai.openapi;version=3.0", openapi.OpenAPIV3YAMLSpec))
}

// definition answers with a text that is packed. It is unpacked for each request, because it is long and rarely read.
func (g *Gateway) definition(contentType string, packed []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			g.log.ErrorContext(r.Context(), "definitions of the HTTP API cannot be read", "path", r.URL.Path, "error", err)
			http.Error(w, "internal error; the log of the server says more", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.Copy(w, text) // it fails if the client has gone
	})
}
