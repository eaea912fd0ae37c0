// Package attributes knows the search attributes of workflow executions: which names belong to the service, which type a name or a value has,
// and which values fit a type.
//
// An attribute that was added to a namespace has the type with which it was added. Another one has the type of its values.
//
// Everything here is a plain value or a pure function. The package may import nothing of Carillon. It must never read or write anything, nor
// know how attributes are searched.
package attributes
