// Package segment writes IDs into the paths of addresses, and reads them back.
//
// An ID may be any text. Escaped, nearly all of them are a segment of a path. But "." and ".." are taken for folders by browsers and by most other clients,
// however they are escaped, so that a link to the schedule ".." would lead elsewhere. And [http.ServeMux] takes "/" for the end of the path. [Escape]
// therefore puts a tilde before these three, and before an ID that would look the same then: ".." is "~..", and "~.." is "~~..". All other IDs are as they are.
//
// Only packages below console import this one. It may import the standard library. It must never know what an ID is of.
package segment

import (
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// mark is what stands before an ID that would be taken for something else.
const mark = "~"

// Escape returns an ID as a segment of a path.
func Escape(id string) string {
	if isTaken(id) {
		id = mark + id
	}
	return url.PathEscape(id)
}

// unescape returns the ID of a segment without percent signs, as [http.Request.PathValue] returns it.
func unescape(segment string) string {
	if id, ok := strings.CutPrefix(segment, mark); ok && isTaken(id) {
		return id
	}
	return segment
}

// isTaken reports whether an ID without its marks is taken for something else.
func isTaken(id string) bool {
	rest := strings.TrimLeft(id, mark)
	return rest == "." || rest == ".." || rest == "/"
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// Handler lets a handler for a pattern of [http.ServeMux] see IDs as the values of its path.
func Handler(pattern string, next http.HandlerFunc) http.HandlerFunc {
	names := parameter.FindAllStringSubmatch(pattern, -1)
	return func(w http.ResponseWriter, r *http.Request) {
		for _, name := range names {
			r.SetPathValue(name[1], unescape(r.PathValue(name[1])))
		}
		next(w, r)
	}
}

// IsClean reports whether a path is where it says: no segment of it is empty, "." or "..". For all others [http.ServeMux] would send
// a client to another path, with the same method.
func IsClean(of *url.URL) bool {
	written := of.EscapedPath()
	return strings.TrimSuffix(path.Clean("/"+written), "/") == strings.TrimSuffix(written, "/")
}
