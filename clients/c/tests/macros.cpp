// Compiles the header after the macros of Unreal and of Windows that are likeliest to meet its names.

#include "stand_ins/unreal/macros.h"

#include <palpate.hpp>

// Instantiates the templates too.
int main() {
    palpate::Result<palpate::Server> server = palpate::Server::open_local();
    if (!server.ok()) return 1;
    palpate::Scene scene = server.value().create_scene("macros").value();
    const palpate::Result<std::vector<double>> none = scene.distances({});
    return none.ok() && none.value().empty() && scene.remove().ok() ? 0 : 1;
}
