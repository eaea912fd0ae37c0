// Package jsontext has what reading and writing of JSON texts share: the check of what encoding/json lets pass, a scanner for texts
// that have passed it, the paths that errors name, and the fields of a struct as JSON names them.
//
// It imports nothing of Carillon, so that schedule may import it. The tokens come from the jsontext package of Go's JSON version 2. It
// reports a [Problem]; what code the error of it has, and where the text stands in a request, is up to whoever asks.
package jsontext
