// Package apitext reads and writes what people and programs hand in: JSON, YAML and msgpack. It is strict, and its errors name
// the path of the field at fault.
//
// All three formats have the rules of [DecodeJSON]: the others are first turned into JSON. Package schedule decides what the
// values mean and whether they are valid.
//
// It imports schedule, internal/codec, internal/jsontext, internal/suggest and internal/yamltext. The frontend, the client, the
// command line and tools may import it.
package apitext
