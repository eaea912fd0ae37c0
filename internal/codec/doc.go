// Package codec writes and reads what is stored: msgpack behind a version byte, with the field names of JSON. It also turns the
// msgpack of API requests into JSON and back.
//
// It knows no type of Carillon. It finds the fields of each type by reflection, once. It ignores a field that the reader's type
// does not have, and a missing field is zero. Reading takes memory in proportion to the data, whatever the data claims.
//
// It imports internal/jsontext alone. Packages that store or send records may import it.
package codec
