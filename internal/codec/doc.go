// Package codec writes and reads what is stored: msgpack behind a version byte, with the field names of JSON. It also turns the
// msgpack of API requests into JSON and back.
//
// It knows no type of Carillon: what it writes is found by reflection, once for each type. A field that a reader does not know is
// passed over, one that is missing is zero. Reading takes memory in proportion to the data, whatever the data say.
//
// It imports internal/jsontext alone. Packages that store or send records may import it.
package codec
