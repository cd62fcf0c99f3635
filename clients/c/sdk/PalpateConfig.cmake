# find_package(Palpate): targets palpate::palpate (shared library) and palpate::palpate-static.

include(CMakeFindDependencyMacro)
find_dependency(Threads)

if(NOT TARGET palpate::palpate)
    get_filename_component(_palpate_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
    add_library(palpate::palpate SHARED IMPORTED)
    set_target_properties(palpate::palpate PROPERTIES
        IMPORTED_LOCATION "${_palpate_prefix}/lib/libpalpate_c.so.@VERSION@"
        IMPORTED_SONAME "libpalpate_c.so.@SO_VERSION@"
        INTERFACE_INCLUDE_DIRECTORIES "${_palpate_prefix}/include")
    add_library(palpate::palpate-static STATIC IMPORTED)
    set_target_properties(palpate::palpate-static PROPERTIES
        IMPORTED_LOCATION "${_palpate_prefix}/lib/libpalpate_c.a"
        IMPORTED_LINK_INTERFACE_LANGUAGES C
        INTERFACE_INCLUDE_DIRECTORIES "${_palpate_prefix}/include"
        INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
    unset(_palpate_prefix)
endif()
