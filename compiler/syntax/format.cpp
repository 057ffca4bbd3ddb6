namespace sarek::syntax {}
