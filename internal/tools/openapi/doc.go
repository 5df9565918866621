// Package openapi reads descriptions of HTTP APIs: OpenAPI 3.0 and 3.1, and Swagger 2, as JSON or YAML.
//
// [Read] goes over a description once, and keeps where its operations and types are. What an [Operation] takes and
// returns is read when somebody looks at it: a description may have tens of thousands of operations, and the types of
// one may be most of the text.
//
//	d, err := openapi.Read(file, size)
//	for _, o := range d.Operations {
//		schema, err := o.Input() // of the arguments, which are an object
//		plan, err := o.Plan()    // how they become a request
//	}
//
// A description is untrusted. A fault in one operation costs that operation, see [Document.Left] and [Operation.Plan].
// What an operation does is judged by its method, its names and its summary, see [Operation]. Package rest sends.
package openapi
