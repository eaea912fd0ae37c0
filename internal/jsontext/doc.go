// Package jsontext has what the reading and the writing of JSON texts share: the check of what encoding/json accepts, a scanner
// for texts that have passed it, the paths in errors, and the fields of a struct as JSON names them.
//
// It imports nothing of Carillon, so that schedule may import it. The tokens come from the jsontext package of Go's JSON version
// 2. It reports a [Problem]. The caller decides the code of the error, and where the text belongs in a request.
package jsontext
